#include "treaty/app/wire_up.h"

int main(int argc, char** argv) { return treaty::app::run(argc, argv); }

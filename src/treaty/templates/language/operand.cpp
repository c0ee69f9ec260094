#include "treaty/templates/language/operand.h"

namespace treaty::templates::language {

const Value& Operand::null() {
  static const Value value;
  return value;
}

}  // namespace treaty::templates::language

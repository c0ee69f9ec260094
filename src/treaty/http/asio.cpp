// The one place that compiles Asio and Beast; every other file sees declarations only.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>

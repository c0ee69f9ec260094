// The precompiled header of the tests: that of the library, and what tests are written with.
#pragma once

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/base/precompiled.h"

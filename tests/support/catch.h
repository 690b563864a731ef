#pragma once

// Catch2, in whichever of its two generations the distribution has.

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_message.hpp>
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_tostring.hpp>
#else
#include <catch2/catch.hpp>
#endif

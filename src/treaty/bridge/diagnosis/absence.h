// Requests without an answer that their program can take: whether they wait, were answered before,
// or were refused. `doctor` and `check` decide it here and say it in the same words. Pure.
#pragma once

#include <span>
#include <string>

#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"

namespace treaty::bridge {

// Why there is nothing in the place of an answer.
enum class Absence {
  waits,  // It was never answered.
  gone,   // It was answered, and its program has not taken the answer.
  taken,  // Its program has had the answer; the request was only left behind.
};
Absence absence_of(const Exchange& exchange, std::span<const Entry> journal);

// "… was answered, and … is gone", and how that came about.
std::string gone_text(const Exchange& exchange);
std::string why_gone(const Exchange& exchange, std::span<const Entry> journal);

// Why a watch does not answer this writing of a request; empty when it was not refused, or was
// asked or answered afterwards.
std::string refusal_of(const Exchange& exchange, std::span<const Entry> journal);

}  // namespace treaty::bridge

#include "estimator/layers/exchange_time.hpp"

#include "estimator/inputs/expert_load.hpp"

namespace ddl {

bool is_of_experts(const Exchange& exchange) {
  return exchange.operation == Collective::all_to_all && (exchange.axes & family_bit(Axis::expert)) != 0;
}

Bytes sent_bytes(const Job& job, const ExchangeTimes& exchanges, const Exchange& exchange, Bytes message) {
  if (exchange.copies <= 1 || !job.coefficients.software.routes_tokens_once.value_or(false)) return message;
  const Group& group = exchanges.group(exchange.axes);
  const double units = group.outermost == 0 ? group.ranks : group.nodes();
  if (job.assumptions.routing == Routing::consecutive)
    return message * share_of_consecutive(units, static_cast<double>(job.facts.experts), exchange.copies);
  const auto groups = static_cast<double>(job.facts.expert_groups), active = static_cast<double>(job.facts.active_groups);
  return message * share_of_copies(units_of_groups(units, groups, active), exchange.copies);
}

Seconds exchange_time(const Job& job, const ExchangeTimes& exchanges, const Exchange& exchange, Bytes message) {
  const Bytes sent = sent_bytes(job, exchanges, exchange, message);
  const double load = is_of_experts(exchange) ? expert_load(job.assumptions, static_cast<double>(job.facts.experts),
                                                            static_cast<double>(exchanges.group(exchange.axes).ranks))
                                              : 1.0;
  return exchanges.time(exchange.operation, sent, exchange.axes, exchange.purpose) *
         (static_cast<double>(exchange.messages) * load);
}

}  // namespace ddl

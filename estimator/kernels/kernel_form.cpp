#include "estimator/kernels/kernel_form.hpp"

#include "estimator/kernels/forms/forms.hpp"

namespace ddl {

KernelShape shape_of(const Work& work, double samples, double item_bytes) {
  KernelShape shape{.kind = work.kernel_kind(),
                    .flops = work.flops * samples,
                    .bytes = (work.activation_items * samples + work.weight_items) * item_bytes,
                    .items = work.activation_items * samples + work.weight_items,
                    .m = work.m,
                    .n = work.n,
                    .k = work.k,
                    .count = work.count,
                    .group_channels = work.group_outputs,
                    .sums_positions = work.sums_positions,
                    .square3_rows = work.square3_rows,
                    .square3_columns = work.square3_columns};
  // In products of experts, the rows or the sums grow with the samples. In products of heads, the number of products grows.
  if (work.batched != Work::Batched::count && work.count > 1) shape.experts = work.count;
  switch (work.batched) {
    case Work::Batched::m:
      shape.m *= samples;
      break;
    case Work::Batched::n:
      shape.n *= samples;
      break;
    case Work::Batched::k:
      shape.k *= samples;
      break;
    case Work::Batched::count:
      shape.count *= samples;
      break;
  }
  return shape;
}

const KernelForm& form_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::matrix_product:
    case KernelKind::grouped_product:
      return matrix_product_form();
    case KernelKind::convolution:
    case KernelKind::grouped_convolution:
    case KernelKind::packed_convolution:
      return convolution_form();
    case KernelKind::direct_convolution:
      return direct_convolution_form();
    case KernelKind::fused_attention:
      return fused_attention_form();
    case KernelKind::chunk_scan:
      return chunk_scan_form();
    default:
      return traffic_form();
  }
}

}  // namespace ddl

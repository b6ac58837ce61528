// A BLAS library with one function in plain loops, which tests load by name like a real BLAS library.

extern "C" __attribute__((visibility("default"))) void cblas_sgemm(int order, int a_form, int b_form, int m, int n, int k,
                                                                   float alpha, const float* a, int lda, const float* b,
                                                                   int ldb, float beta, float* c, int ldc) {
  constexpr int row_major = 101, transposed = 112;  // netlib, cblas.h
  if (order != row_major) return;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) {
        const float left = a_form == transposed ? a[l * lda + i] : a[i * lda + l];
        const float right = b_form == transposed ? b[j * ldb + l] : b[l * ldb + j];
        sum += static_cast<double>(left) * static_cast<double>(right);
      }
      float& item = c[i * ldc + j];
      item = alpha * static_cast<float>(sum) + (beta == 0 ? 0 : beta * item);
    }
  }
}

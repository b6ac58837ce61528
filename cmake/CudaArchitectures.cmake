# ddl_cuda_architectures(<variable> <version of CUDA>): sets the variable to the GPUs for which kernels are compiled,
# in the form of CMAKE_CUDA_ARCHITECTURES.
#
# Machine code for the most common training GPUs, and PTX of 7.5, which the driver compiles for every other GPU from Turing
# on. CUDA 13 has neither compiler nor libraries for GPUs before Turing (CUDA 13.0 release notes, "Deprecated and dropped
# features"): machine code of P100 and V100 needs CUDA 12, and cuDNN 9.10 or older.
function(ddl_cuda_architectures variable version)
  set(architectures 75-virtual 80-real 90-real)
  if(version VERSION_LESS 13)
    list(PREPEND architectures 60-real 70-real)
  endif()
  set(${variable} "${architectures}" PARENT_SCOPE)
endfunction()

format: 1
backend: simulated
device: d
---
problem,layers,samples,median_s,deviation_s,low_s,high_s,settled,drifted,look_s,workspace_bytes,algorithm,reason,samples_s
convolution filters=4 kernel=3x3 padding=1 in=4x8x8 samples=1 precision=fp32 pass=forward,1,2,1e-5,0,1e-5,1e-5,yes,no,1e-4,4096,plain,,1e-5 1e-5
convolution filters=4 kernel=3x3 padding=1 in=4x8x8 samples=1 precision=fp32 pass=forward,1,2,2e-5,0,2e-5,2e-5,yes,no,1e-4,4096,plain,,2e-5 2e-5

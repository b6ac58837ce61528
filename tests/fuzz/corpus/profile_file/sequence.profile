format: 1
model: "m"
backend: "simulated"
device: "d"
---
problem,layers,samples,median_s,deviation_s,low_s,high_s,settled,drifted,look_s,workspace_bytes,algorithm,reason,samples_s
convolution filters=4 kernel=3x3 padding=1 in=4x8x8 samples=2 precision=fp32 pass=forward,1,2,1e-5,0,1e-5,1e-5,yes,no,1e-4,4096,plain,,1e-5 1e-5
convolution filters=4 kernel=3x3 padding=1 in=4x8x8 samples=2 precision=fp32 pass=backward-weight,1,2,1e-5,0,1e-5,1e-5,yes,no,1e-4,4096,plain,,1e-5 1e-5
activation kind=relu in=4x8x8 samples=2 precision=fp32 pass=forward,1,2,1e-5,0,1e-5,1e-5,yes,no,1e-4,4096,plain,,1e-5 1e-5
activation kind=relu in=4x8x8 samples=2 precision=fp32 pass=backward-data,1,2,1e-5,0,1e-5,1e-5,yes,no,1e-4,4096,plain,,1e-5 1e-5
update optimizer=sgd parameters=148 precision=fp32,1,2,1e-5,0,1e-5,1e-5,yes,no,1e-4,4096,plain,,1e-5 1e-5
sequence model=m samples=2 precision=fp32 optimizer=sgd pass=forward,1,2,4e-5,0,4e-5,4e-5,yes,no,1e-4,4096,plain,,4e-5 4e-5
sequence model=m samples=2 precision=fp32 optimizer=sgd pass=backward,1,2,4e-5,0,4e-5,4e-5,yes,no,1e-4,4096,plain,,4e-5 4e-5
sequence model=m samples=2 precision=fp32 optimizer=sgd pass=update,1,2,4e-5,0,4e-5,4e-5,yes,no,1e-4,4096,plain,,4e-5 4e-5

format: 1
backend: simulated
device: d
---
problem,layers,samples,median_s,deviation_s,low_s,high_s,settled,drifted,look_s,workspace_bytes,algorithm,reason,samples_s
activation samples=1 in=4x8x8 kind=relu,1,2,1e-5,0,1e-5,1e-5,yes,no,1e-4,4096,plain,,1e-5 1e-5

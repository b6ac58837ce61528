format: 1
backend: simulated
device: d
shard:
  index: 1
  count: 2
  problems: 2
  plan: "5f2a91c3e0b71d44"
---
problem,layers,samples,median_s,deviation_s,low_s,high_s,settled,drifted,look_s,workspace_bytes,algorithm,reason,samples_s,place
activation kind=relu in=4x8x8 samples=2 precision=fp32 pass=forward,1,0,1e-6,0,1e-6,1e-6,yes,no,0,0,x,,,3
activation kind=relu in=4x8x8 samples=4 precision=fp32 pass=forward,1,0,2e-6,0,2e-6,2e-6,yes,no,0,0,x,,,999999999

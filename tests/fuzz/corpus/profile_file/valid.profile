format: 1
model: "m"
backend: "simulated"
device: "a \"device\""
caches: "step"
date: "2026-11-21T20:26:49Z"
host: "node1"
command: "ddl-oracle profile m"
source: "a trace"
details:
  "library": "none 1.2"
  "clock: now": "1 GHz"
---
problem,layers,samples,median_s,deviation_s,low_s,high_s,settled,drifted,look_s,workspace_bytes,algorithm,reason,samples_s
convolution filters=4 kernel=3x3 padding=1 in=4x8x8 samples=1 precision=fp32 pass=forward,1,2,1e-5,0,1e-5,1e-5,yes,no,1e-4,4096,plain,,1e-5 1e-5
convolution filters=4 kernel=3x3 padding=1 in=4x8x8 samples=4 precision=fp32 pass=forward,1,2,3e-5,0,3e-5,3e-5,yes,no,1e-4,4096,plain,,3e-5 3e-5
activation kind=relu in=4x8x8 samples=1 precision=fp32 pass=forward,1,2,1e-5,0,1e-5,1e-5,yes,no,2e-4,4096,plain,,1e-5 1e-5
activation kind=relu in=4x8x8 samples=1 precision=fp32 pass=backward-data,1,2,1e-5,0,1e-5,1e-5,yes,no,1e-4,4096,plain,,1e-5 1e-5
convolution filters=4 kernel=3x3 padding=1 in=4x8x8 samples=2 precision=fp32 pass=backward-weight,1,2,2e-5,0,2e-5,2e-5,yes,no,1e-4,4096,plain,,2e-5 2e-5
update optimizer=sgd parameters=148 precision=fp32,1,2,2e-6,0,2e-6,2e-6,yes,no,1e-4,4096,plain,,2e-6 2e-6
update optimizer=adam parameters=148 precision=fp32,1,0,0,0,0,0,no,no,0,0,,"refused, it says",

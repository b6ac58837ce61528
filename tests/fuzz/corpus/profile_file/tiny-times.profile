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
convolution filters=4 kernel=3x3 padding=1 in=4x8x8 samples=1 precision=fp32 pass=forward,1,2,5e-324,0,5e-324,5e-324,yes,no,1e-4,4096,plain,,5e-324 5e-324
activation kind=relu in=4x8x8 samples=1 precision=fp32 pass=forward,1,2,5e-324,0,5e-324,5e-324,yes,no,5e-324,4096,plain,,5e-324 5e-324
update optimizer=sgd parameters=148 precision=fp32,1,2,5e-324,0,5e-324,5e-324,yes,no,1e-4,4096,plain,,5e-324 5e-324

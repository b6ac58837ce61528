format: 1
backend: simulated
device: d

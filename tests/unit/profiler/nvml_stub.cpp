// Stubs the functions of NVIDIA's management library that the cuda back end calls, for a device
// that its power cap slows down.

#include <cstring>

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* version, unsigned room) {
  std::strncpy(version, "580.65.06", room);
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  static int any = 0;
  *device = &any;
  return std::strcmp(bus, "0000:3B:00.0") == 0 ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}
int nvmlDeviceGetClockInfo(void*, int clock, unsigned* megahertz) {
  *megahertz = clock == 1 ? 1410 : 2619;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 699500;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*,
                                              unsigned long long* bits) {  // NOLINT(google-runtime-int): as NVML has it
  *bits = 0x1 | 0x4;                                                       // idle between two kernels, and the power cap
  return 0;
}

}  // extern "C"

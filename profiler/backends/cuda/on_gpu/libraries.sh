# shellcheck shell=sh disable=SC2154 # the script that sources this file sets `here`
# The scripts of a pack source this file, with the folder of the pack in `here`. It sets `libraries`, the
# folders in which the dynamic loader looks for libraries of the pack's programs. It also defines
# functions that report missing libraries and their source.

# packed KEY: prints the value of KEY in pack.txt, which `./dev gpu-pack` wrote.
packed() { sed -n "s/^$1 //p" "$here/pack.txt" 2>/dev/null; }

# is_older A B: whether the version A is older than B.
is_older() { [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# system_library LIBRARY: prints the path of a library of the system; nothing if the system lacks it.
system_library() {
  PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | grep -F "$1 (" | grep x86-64 | sed 's/.* => //' | head -n 1
}

# newest_glibcxx FILE: prints the newest interface of a libstdc++, such as 3.4.30.
newest_glibcxx() { LC_ALL=C grep -ao 'GLIBCXX_3\.4\.[0-9]*' "$1" 2>/dev/null | sed 's/.*_//' | sort -V | tail -n 1; }

# own_base: prints the compiler's libraries that are taken from the pack, one line each: `NAME: why`. Each
# library has its own folder and can be used alone, because a libstdc++ that is newer than the system's
# also needs a newer glibc.
own_base() {
  for folder in "$here"/lib/base/*; do
    name=${folder##*/}
    [ -e "$folder/$name" ] || continue
    known=$(system_library "$name")
    needed=$(packed glibcxx)
    if [ -z "$known" ]; then
      echo "$name: the system has none"
    elif [ "$name" = libstdc++.so.6 ] && [ -n "$needed" ]; then
      newest=$(newest_glibcxx "$known")
      [ -z "$newest" ] || ! is_older "$newest" "$needed" ||
        echo "$name: the system's has interfaces up to GLIBCXX $newest, and the pack needs those of $needed"
    fi
  done
}

# python_folders: prints the folders with libraries of NVIDIA's Python packages, of PyTorch if it includes
# them, and of packages in the pack's folder `site`.
python_folders() {
  "${PYTHON-python3}" - "$here/site" 2>/dev/null <<'END_OF_PYTHON'
import glob, importlib.util, os, sys
bases = [os.path.join(sys.argv[1], "nvidia")]
spec = importlib.util.find_spec("nvidia")
if spec and spec.submodule_search_locations:
    bases += list(spec.submodule_search_locations)
folders = []
for base in bases:
    folders += sorted(glob.glob(os.path.join(base, "*", "lib")))
spec = importlib.util.find_spec("torch")
if spec and spec.submodule_search_locations:
    folders += [f for base in spec.submodule_search_locations for f in [os.path.join(base, "lib")] if glob.glob(os.path.join(f, "libcudnn.so*"))]
print(":".join(folders))
END_OF_PYTHON
}

# The folders are found once. Programs that the pack starts inherit DDL_PACK_LIBRARIES.
if [ -z "${DDL_PACK_LIBRARIES-}" ]; then
  DDL_PACK_LIBRARIES=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  found=$(python_folders)
  [ -z "$found" ] || DDL_PACK_LIBRARIES=$DDL_PACK_LIBRARIES:$found
  for library in $(own_base | sed 's/: .*//'); do DDL_PACK_LIBRARIES=$DDL_PACK_LIBRARIES:$here/lib/base/$library; done
  # The last folders are a toolkit that the system does not know, and a driver mounted into a container.
  for folder in ${CUDA_HOME:+"$CUDA_HOME/lib64"} /usr/local/cuda/lib64 /usr/local/cuda/lib /usr/local/nvidia/lib64; do
    [ ! -d "$folder" ] || DDL_PACK_LIBRARIES=$DDL_PACK_LIBRARIES:$folder
  done
  export DDL_PACK_LIBRARIES
fi
libraries=$DDL_PACK_LIBRARIES

# loaded_by FILE: prints the libraries that the dynamic loader finds for a program or a module. Small
# systems lack ldd, which is a shell script.
loaded_by() {
  if ldd --version >/dev/null 2>&1; then
    LD_LIBRARY_PATH=$libraries ldd "$1" 2>/dev/null
  else
    LD_LIBRARY_PATH=$libraries LD_TRACE_LOADED_OBJECTS=1 /lib64/ld-linux-x86-64.so.2 "$1" 2>/dev/null
  fi
}

# missing_libraries FILE...: prints the libraries of programs and modules that the loader does not find.
missing_libraries() {
  for file in "$@"; do loaded_by "$file"; done | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sort -u
}

# comes_from LIBRARY: prints which package contains a library.
comes_from() {
  major=$(packed cuda | sed 's/\..*//')
  # NVIDIA's Python packages for CUDA 13 have different names.
  case $major in 12) cublas=nvidia-cublas-cu12 nvrtc=nvidia-cuda-nvrtc-cu12 ;; *) cublas=nvidia-cublas nvrtc=nvidia-cuda-nvrtc ;; esac
  case $1 in
    libcublas*) echo "cuBLAS of CUDA $major: the toolkit's, or: python3 -m pip install --target $here/site '$cublas==$major.*'" ;;
    libcudnn*) echo "cuDNN 9 for CUDA $major: python3 -m pip install --target $here/site 'nvidia-cudnn-cu$major==9.*'" ;;
    libnvrtc*) echo "NVRTC of CUDA $major: the toolkit's, or: python3 -m pip install --target $here/site '$nvrtc==$major.*'" ;;
    libnccl*) echo "NCCL 2 for CUDA $major: python3 -m pip install --target $here/site 'nvidia-nccl-cu$major'" ;;
    libcuda.*) echo "the driver of the GPU; start a container with the host's GPUs" ;;
    *) echo "this pack, but the file is missing: make the pack again" ;;
  esac
}

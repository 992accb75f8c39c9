#!/bin/sh
# Usage: interop/multipath/build_multipath_kernel.sh [FOLDER]
#
# Builds a small Linux kernel with MP-DCCP for interop/multipath/multipath.py: Deutsche Telekom's Linux 4.14 of March 2024
# (https://github.com/telekom/mp-dccp), configured by multipath_kernel.config. The sources (1.1 GB) and the image stay in
# FOLDER, target/interop/mp-dccp by default, whose path is printed. Five minutes on one processor.
#
#   apt-get install git make gcc flex bison bc
#
# SOURCE=DIR    a bare clone of the repository, instead of the download
# COMPILER=CC   gcc by default; tried with versions 11 and 12 (this Linux is older than the compilers of today)
set -e
COMMIT=91d011d147c09bb6851fa6b6f7d92259384bf1b8
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../../target/interop/mp-dccp}
compiler=${COMPILER:-gcc}
command -v "$compiler" > /dev/null || { echo "build_multipath_kernel: no $compiler: apt-get install gcc" >&2; exit 1; }
mkdir -p "$folder/source"
cd "$folder/source"
if [ ! -e .complete ]; then
	if [ -n "$SOURCE" ]; then
		# Without the graphics drivers' register tables, which a clone may lack as they are large.
		git -C "$SOURCE" archive "$COMMIT" -- . ':!drivers/gpu/drm/amd/include' | tar x
	else
		git init -q .
		git fetch -q --depth 1 https://github.com/telekom/mp-dccp "$COMMIT"
		git checkout -q FETCH_HEAD
	fi
	# Folders without an object for the configuration, which the tree was only built as modules with.
	for part in pm reordering non_gpl_reordering non_gpl_scheduler; do
		echo 'obj- := none.o' >> net/dccp/$part/Makefile
	done
	touch .complete
fi
build() {
	# The flags restore what compilers did by default in 2019.
	make -s CC="$compiler" HOSTCC="$compiler" HOSTCFLAGS='-fcommon -w' KCFLAGS='-Wno-error -fno-pie -w' "$@"
}
KCONFIG_ALLCONFIG=$here/multipath_kernel.config build allnoconfig > /dev/null
for key in $(grep -oE '^CONFIG_[A-Z0-9_]+=y' "$here/multipath_kernel.config"); do
	grep -q "^$key$" .config || { echo "build_multipath_kernel: the kernel's configuration has no $key" >&2; exit 1; }
done
build -j"${JOBS:-$(nproc)}" bzImage
cp arch/x86/boot/bzImage "$folder/bzImage"
echo "$folder/bzImage"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches Debian's packages of a kernel series (6.1, 6.12) into a cache outside
# the tree and prints where its parts are, as shell assignments:
#
#   eval "$(scripts/kernel-packages.sh 6.12)"
#   KERNEL_RELEASE  what uname -r says in that kernel
#   KERNEL_VERSION  the Debian version of image, headers and source alike
#   KERNEL_IMAGE    vmlinuz-$KERNEL_RELEASE, compressed
#   KERNEL_MODULES  folder that holds lib/modules/$KERNEL_RELEASE (modprobe -d)
#   KERNEL_HEADERS  make -C $KERNEL_HEADERS M=... builds modules against it
#   KERNEL_SOURCE   linux-source-$SERIES.tar.xz, Debian's patches applied
#
# Packages are named by the SHA-256 that apt's signed index has for them, and held to
# it when fetched; what was extracted is held to a list of hashes at each use. That
# finds damage and stale files, not someone who may write to the cache.
set -euo pipefail

cache=${TBNET2_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tbnet2}
extracted=3 # raise this when extract() or relocate() changes

die() {
	echo "kernel-packages: $*" >&2
	exit 1
}

# field NAME PACKAGE[=VERSION] prints a field of the package's newest version.
field() {
	apt-cache show --no-all-versions "$2" 2>/dev/null | sed -n "s/^$1: //p" | head -n 1
}

# depends PACKAGE PATTERN prints the first dependency that matches.
depends() {
	apt-cache depends "$1" 2>/dev/null | sed -n 's/^[ |]*Depends: //p' | grep -E -m 1 -- "$2"
}

# intact FILE SHA256
intact() {
	[ -f "$1" ] && echo "$2  $1" | sha256sum --check --status
}

# hash PACKAGE=VERSION prints what apt's signed index says.
hash() {
	local sum
	sum=$(field SHA256 "$1")
	[[ $sum =~ ^[0-9a-f]{64}$ ]] || die "apt knows no hash of $1: run apt-get update"
	echo "$sum"
}

# deb PACKAGE=VERSION fetches a package and prints the path of the verified file.
deb() {
	local sum file dir
	sum=$(hash "$1") || exit
	file=$cache/debs/$sum.deb
	if ! intact "$file" "$sum"; then
		mkdir -p "$cache/debs"
		dir=$(mktemp -d "$cache/debs/fetch.XXXXXX")
		echo "kernel-packages: fetching $1" >&2
		# As root apt would hand the download to user _apt, who may not write here.
		(cd "$dir" && apt-get -o APT::Sandbox::User=root download -qq "$1" >&2) || die "cannot download $1"
		mv "$dir"/*.deb "$dir/deb"
		intact "$dir/deb" "$sum" || die "$1 has another hash than apt's index says"
		mv -f "$dir/deb" "$file"
		rmdir "$dir"
	fi
	echo "$file"
}

# relocate DIR FINAL makes the headers in DIR usable once they are moved to FINAL: Debian's
# Makefiles and links name /usr. Without vmlinux modules are built without BTF,
# for which we would need pahole.
relocate() {
	local link target
	rm -f "$1"/usr/src/*/vmlinux
	grep -rlE --include=Makefile --include='.kernelvariables' '/usr/(src|lib)/linux-' "$1"/usr/src/*/ 2>/dev/null |
		xargs -r sed -i -E "s#(^|[^[:alnum:].])/usr/(src|lib)/linux-#\1$2/usr/\2/linux-#g"
	while read -r link; do
		target=$(readlink "$link")
		case $target in /usr/*) ln -sfn "$2$target" "$link" ;; esac
	done < <(find "$1/usr" -type l)
}

# extract NAME PACKAGE=VERSION... unpacks the packages under one folder, named by
# their hashes, and prints it. The folder appears whole or not at all.
extract() {
	local name=$1 key dir tmp file package
	shift
	key=$(for package; do hash "$package" || exit; done) || exit
	key=$(printf '%s\n' "$extracted" "$key" | sha256sum | cut -c 1-16)
	dir=$cache/$name-$key
	if ! sums "$dir"; then
		tmp=$(mktemp -d "$cache/$name.XXXXXX")
		for package; do
			file=$(deb "$package") || exit
			dpkg-deb -x "$file" "$tmp" || die "cannot extract $file"
			rm "$file" # the folder takes its place
		done
		relocate "$tmp" "$dir"
		for file in "$tmp"/lib/modules/*; do
			[ ! -d "$file/kernel" ] || depmod -b "$tmp" "${file##*/}" # Debian does so when it installs
		done
		(cd "$tmp" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$tmp.sums"
		mv "$tmp.sums" "$tmp/SHA256SUMS"
		chmod 0755 "$tmp"
		rm -rf "$dir"
		mv -T "$tmp" "$dir"
	fi
	echo "$dir"
}

# sums DIR holds the files of DIR to the list made when it was extracted.
sums() {
	[ -f "$1/SHA256SUMS" ] || return 1
	(cd "$1" && sha256sum --check --status SHA256SUMS) && return
	echo "kernel-packages: $1 is damaged, extracting again" >&2
	return 1
}

# series NAME sets image, headers, common, kbuild: the packages' names.
series() {
	local meta
	case $1 in
	6.1) meta=linux-image-amd64 ;; # the kernel of Debian 12 itself
	6.12) meta=linux-image-6.12-amd64 ;;
	*) die "there are kernels 6.1 and 6.12, not $1" ;;
	esac
	image=$(depends $meta "^linux-image-$1[.]") || {
		[ "$(id -u)" -ne 0 ] || apt-get update -qq >&2
		image=$(depends $meta "^linux-image-$1[.]") || die "apt has no $meta for $1 (Debian 12 with its security suite has)"
	}
	headers=${image/image/headers}
	common=$(depends "$headers" '-common$') || die "$headers lacks its common part"
	kbuild=$(depends "$headers" '^linux-kbuild-') || die "$headers lacks kbuild"
}

main() {
	[ $# -eq 1 ] || die "usage: kernel-packages.sh 6.1|6.12"
	local image headers common kbuild version modules tree source
	series "$1"
	mkdir -p "$cache"
	exec 9>"$cache/lock-$1" # one fetch of a series at a time; the others then find it done
	flock 9
	version=$(field Version "$image")
	modules=$(extract image-"$1" "$image=$version")
	tree=$(extract headers-"$1" "$headers=$version" "$common=$version" "$kbuild=$version")
	source=$(extract source-"$1" "linux-source-$1=$version")
	printf '%s=%q\n' KERNEL_RELEASE "${image#linux-image-}" KERNEL_VERSION "$version" \
		KERNEL_IMAGE "$modules/boot/vmlinuz-${image#linux-image-}" KERNEL_MODULES "$modules" \
		KERNEL_HEADERS "$tree/usr/src/$headers" KERNEL_SOURCE "$source/usr/src/linux-source-$1.tar.xz"
}

main "$@"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs and removes tbnet2: the program, its completions and manual, the
# systemd unit and user, and the files that keep network managers off the
# rails. Called by `make install` and `make uninstall`.
#
#	packaging/install.sh install [BINARY]
#	packaging/install.sh uninstall
#
# BINARY is build/bin/tbnetctl if not given.
# Environment: PREFIX (/usr/local), DESTDIR (none),
# SYSCONFDIR (/etc), LIBDIR of systemd and udev (/usr/lib when PREFIX is /usr,
# else /etc, where systemd looks for what the administrator adds).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=${PREFIX:-/usr/local}
destdir=${DESTDIR:-}
sysconfdir=${SYSCONFDIR:-/etc}
binary=${2:-$here/../build/bin/tbnetctl}
if [ "$prefix" = /usr ]; then
	libdir=/usr/lib
else
	libdir=$sysconfdir
fi
bindir=$prefix/bin
sharedir=$prefix/share
# sysusers.d, networkd and NetworkManager have folders of the administrator's.
case $libdir in
/usr/lib) nmdir=/usr/lib/NetworkManager/conf.d ;;
*) nmdir=$sysconfdir/NetworkManager/conf.d ;;
esac

unit=$libdir/systemd/system/tbnet2.service
sysusers=$libdir/sysusers.d/tbnet2.conf
network=$libdir/systemd/network/10-tbnet2-rails.network
rules=$libdir/udev/rules.d/70-tbnet2.rules
nmconf=$nmdir/90-tbnet2.conf
bash=$sharedir/bash-completion/completions/tbnetctl
zsh=$sharedir/zsh/site-functions/_tbnetctl
fish=$sharedir/fish/vendor_completions.d/tbnetctl.fish
mandir=$sharedir/man/man8
example=$sharedir/doc/tbnet2/config.example

put() { # FILE MODE PATH
	mkdir -p "$destdir$(dirname "$3")"
	install -m "$2" "$1" "$destdir$3"
}

# live tells whether this is the running system, not a package's tree.
live() {
	[ -z "$destdir" ] && [ -d /run/systemd/system ]
}

do_install() {
	if [ ! -x "$binary" ]; then
		echo "install.sh: $binary is not there: run make build first" >&2
		exit 1
	fi
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	put "$binary" 755 "$bindir/tbnetctl"
	sed "s|@BINDIR@|$bindir|g" "$here/tbnet2.service.in" >"$tmp/unit"
	put "$tmp/unit" 644 "$unit"
	put "$here/tbnet2.sysusers" 644 "$sysusers"
	put "$here/10-tbnet2-rails.network" 644 "$network"
	put "$here/70-tbnet2.rules" 644 "$rules"
	put "$here/networkmanager.conf" 644 "$nmconf"
	put "$here/config.example" 644 "$example"
	for shell in bash zsh fish; do
		"$binary" completion $shell >"$tmp/$shell"
	done
	put "$tmp/bash" 644 "$bash"
	put "$tmp/zsh" 644 "$zsh"
	put "$tmp/fish" 644 "$fish"
	mkdir -p "$tmp/man" "$destdir$mandir"
	"$binary" manual "$tmp/man"
	for page in "$tmp"/man/*.8; do
		put "$page" 644 "$mandir/$(basename "$page")"
	done
	mkdir -p "$destdir$sysconfdir/tbnet2"
	if live; then
		systemd-sysusers "$sysusers"
		systemctl daemon-reload
		udevadm control --reload 2>/dev/null || true
	fi
	echo "installed in $destdir$prefix; start with: tbnetctl up"
}

do_uninstall() {
	if live; then
		if [ -x "$bindir/tbnetctl" ] && [ -e /run/tbnet2/daemon.sock.up ]; then
			"$bindir/tbnetctl" down || true
		fi
		systemctl disable --now tbnet2.service 2>/dev/null || true
	fi
	for path in "$bindir/tbnetctl" "$unit" "$sysusers" "$network" "$rules" "$nmconf" "$bash" "$zsh" "$fish" "$example"; do
		rm -f "$destdir$path"
	done
	rm -f "$destdir$mandir"/tbnetctl.8 "$destdir$mandir"/tbnetctl-*.8
	rmdir "$destdir$(dirname "$example")" 2>/dev/null || true
	# The configuration is the administrator's; only an empty folder goes.
	rmdir "$destdir$sysconfdir/tbnet2" 2>/dev/null || true
	if live; then
		systemctl daemon-reload
	fi
	if [ -d "$destdir$sysconfdir/tbnet2" ]; then
		echo "removed; the configuration stays in $destdir$sysconfdir/tbnet2"
	else
		echo "removed"
	fi
}

case ${1:-} in
install) do_install ;;
uninstall) do_uninstall ;;
*)
	echo "usage: install.sh install [BINARY] | uninstall" >&2
	exit 2
	;;
esac

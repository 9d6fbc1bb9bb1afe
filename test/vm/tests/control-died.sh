#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-expect: died
# Positive control: a guest that reboots before its verdict has not passed.
echo b >/proc/sysrq-trigger
sleep 60

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-copies: trip
# vm-kernels: debug
# vm-expect: atomic
# Positive control: a sleep under a spinlock.
insmod /m/trip.ko fault=sleep
exit 0

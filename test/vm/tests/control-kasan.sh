#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-copies: trip
# vm-kernels: debug
# vm-expect: kasan
# Positive control: KASAN finds a write to freed memory.
insmod /m/trip.ko fault=uaf

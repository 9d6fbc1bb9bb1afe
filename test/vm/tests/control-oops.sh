#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-copies: trip
# vm-expect: oops
# Positive control: a write to nowhere kills insmod; the harness sees why.
insmod /m/trip.ko fault=oops
exit 0

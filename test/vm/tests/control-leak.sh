#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-copies: trip
# vm-kernels: debug
# vm-expect: leak
# Positive control: kmemleak finds memory that nobody points to.
insmod /m/trip.ko fault=leak

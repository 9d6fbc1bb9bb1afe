#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-copies: trip
# vm-kernels: debug
# vm-expect: lockdep
# Positive control: lockdep finds two mutexes taken in both orders.
insmod /m/trip.ko fault=deadlock

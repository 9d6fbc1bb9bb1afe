#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-copies: trip
# vm-expect: list
# Positive control: a list entry deleted twice.
insmod /m/trip.ko fault=list
exit 0

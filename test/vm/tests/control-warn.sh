#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-copies: trip
# vm-expect: warn
# Positive control: a WARN_ON in a module is found, though the test itself passes.
insmod /m/trip.ko fault=warn

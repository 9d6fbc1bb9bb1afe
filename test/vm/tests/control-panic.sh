#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-expect: oops
# Positive control: a panic ends the guest without a verdict.
echo c >/proc/sysrq-trigger
sleep 60

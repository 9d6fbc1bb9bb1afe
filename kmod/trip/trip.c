// SPDX-License-Identifier: GPL-2.0-only
/*
 * Positive controls for the VM harness: each value of the parameter "fault"
 * commits one sin when the module is loaded, so that a test can show that the
 * harness finds the kernel's report of it. Never load it on a real machine.
 */
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "none, warn, oops, deadlock, uaf, leak, sleep, list");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spin);

static void trip_warn(void)
{
	WARN(1, "trip: asked to warn\n");
}

static void trip_oops(void)
{
	/* volatile, as the compiler would turn a known fault into a trap */
	int *volatile nowhere = (int *)8;

	*nowhere = 1;
}

/* Both orders once: lockdep knows without an actual deadlock. */
static void trip_deadlock(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);

	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void trip_uaf(void)
{
	char *volatile freed = kmalloc(64, GFP_KERNEL);

	if (!freed)
		return;
	kfree(freed);
	freed[8] = 1;
}

/* Several, as a stale pointer on a stack may hide one from kmemleak. */
static void trip_leak(void)
{
	void *volatile lost;
	int i;

	for (i = 0; i < 16; i++)
		lost = kmalloc(128, GFP_KERNEL);
	lost = NULL;
}

static void trip_sleep(void)
{
	spin_lock(&spin);
	msleep(1);
	spin_unlock(&spin);
}

/* An entry deleted twice meets LIST_POISON. */
static void trip_list(void)
{
	LIST_HEAD(head);
	struct list_head entry;

	list_add(&entry, &head);
	list_del(&entry);
	list_del(&entry);
}

static const struct {
	const char *name;
	void (*commit)(void);
} faults[] = {
	{ "warn", trip_warn },
	{ "oops", trip_oops },
	{ "deadlock", trip_deadlock },
	{ "uaf", trip_uaf },
	{ "leak", trip_leak },
	{ "sleep", trip_sleep },
	{ "list", trip_list },
};

static int __init trip_init(void)
{
	int i;

	if (!strcmp(fault, "none"))
		return 0;
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!strcmp(fault, faults[i].name)) {
			faults[i].commit();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit trip_exit(void)
{
}

module_init(trip_init);
module_exit(trip_exit);
MODULE_DESCRIPTION("Faults on purpose, to test what finds faults");
MODULE_LICENSE("GPL");

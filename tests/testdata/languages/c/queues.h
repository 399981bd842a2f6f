#ifndef QUEUES_H
#define QUEUES_H

#include <sys/queue.h>
#include <sys/tree.h>

/* TAILQ_HEAD(documented, job); is none. */
#define OWN_HEAD(name, type) TAILQ_HEAD(name, type)

struct job {
	int id;
	TAILQ_ENTRY(job) next;
	RB_ENTRY(job) by_id;
};

TAILQ_HEAD(job_queue, job);
RB_HEAD(job_tree, job);
SLIST_HEAD(free_jobs, job) unused = SLIST_HEAD_INITIALIZER(unused);

/* A list of the kernel, which is a variable. */
LIST_HEAD(pending);

struct pool {
	LIST_HEAD(workers, worker) workers;
	struct job_queue waiting;
};

int pool_run(struct pool *pool, struct job *job);

#endif

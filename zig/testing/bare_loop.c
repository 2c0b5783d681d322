/* The plainest loop that verbs allow, as a yardstick for the probe's own: RDMA WRITEs from one queue pair to another on the
   same port, one at a time (median of post to completion), or with a window in flight (sustained rate).
   Test-only: it exits on the first error, and only its waits have a limit. */
#include "../stub/verbs_for_c.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

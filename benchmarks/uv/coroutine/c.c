/* coroutine CONNECTIONS TRIPS: what C has in place of coroutines are callbacks. */
#include "../echo/c.c"

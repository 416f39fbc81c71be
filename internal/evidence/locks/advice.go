package locks

// Advice is what to do about a lock that other workers hold.
const Advice = "other workers hold it meanwhile: get_keys and large values hold the lock of a shared dict long; spread the keys over " +
	"several shared dicts, or keep copies in each worker (lua-resty-lrucache)"

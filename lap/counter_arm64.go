package lap

const counterName = "cntvct"

// counterSource: see amd64.
var counterSource = "arch_sys_counter"

// counter reads the virtual counter, which runs at a constant speed by definition;
// unfenced.
func counter() int64

// fence lets no instruction after it begin before all before it are done: see amd64.
func fence()

func counterUsable(string) bool { return true }

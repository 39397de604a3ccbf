package op

// A keptOperand says that the gradient of one operand reads another, or the same, as it was.
type keptOperand struct{ operand, reads int }

var (
	itself    = []keptOperand{{0, 0}}
	bothOfTwo = []keptOperand{{0, 0}, {0, 1}, {1, 0}, {1, 1}}
)

// keeps are the composites whose gradients read operands, as they do in PyTorch, that the gradients of the
// operators they are made of need not read: applied one by one these keep masks, or what was made on the way.
var keeps = map[string][]keptOperand{
	"leaky_relu":     itself,
	"elu":            itself,
	"selu":           itself,
	"celu":           itself,
	"softplus":       itself,
	"hardshrink":     itself,
	"softshrink":     itself,
	"hardsigmoid":    itself,
	"threshold":      itself,
	"logsigmoid":     itself,
	"logit":          itself,
	"sinc":           itself,
	"nan_to_num":     itself,
	"xlogy":          bothOfTwo,
	"huber_loss":     bothOfTwo,
	"smooth_l1_loss": bothOfTwo,
	"addcdiv":        {{1, 2}, {2, 1}, {2, 2}},
	"lerp":           {{0, 2}, {1, 2}, {2, 0}, {2, 1}},
}

// keeping are composites whose gradients are made of what they have made on the way, and not of their inputs,
// which may be changed in place after, as in PyTorch: run in one pass, they would keep the inputs alone.
var keeping = nameSet("float_power", "hinge_embedding_loss", "l1_loss", "ldexp", "sigmoid", "tanh", "tanhshrink")

// Keeps reports whether operand i must be as it was when the gradients of the operands are found that
// requires says want one.
func (d *Def) Keeps(i int, requires func(i int) bool) bool {
	for _, k := range d.keeps {
		if k.reads == i && requires(k.operand) {
			return true
		}
	}
	return false
}

// KeepsAny reports whether Keeps is true of any operand.
func (d *Def) KeepsAny() bool { return d.keeps != nil }

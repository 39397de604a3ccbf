// Package pipeline holds the schedules of pipelines: in which order the stages
// compute and exchange micro-batches. A schedule is data, which Check proves
// before anything is computed; package runtime carries it out.
//
// A model is cut into layers of work called chunks. S stages hold v chunks
// each: chunk c of stage s is position c*S + s of the model, so that the
// output of the last stage goes to the first one, to its next chunk. A batch
// is cut into M micro-batches, each of which goes forward through all S*v
// positions and backward through all of them.
//
//	s, err := pipeline.New("1f1b", 4, 8, 1)
//	fmt.Println(s)                       // the picture of stages and time
//	for _, a := range s.Actions[stage] { // what a stage does
//	}
package pipeline

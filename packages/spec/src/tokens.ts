/**
 * Token data lives in typed arrays that are shared between turns, trajectories
 * and samples. What is handed out is a read-only view of shared storage: the
 * methods that write, and those that would hand out the storage, are left out.
 */
type Mutators = 'fill' | 'set' | 'sort' | 'reverse' | 'copyWithin' | 'subarray' | 'buffer'

/** Token ids, shape [T]. A read-only view: the storage is shared. */
export type TokenIds = Readonly<Omit<Int32Array, Mutators>> & Iterable<number>

/** Natural-log probabilities as float32, shape [T]. A read-only view: the storage is shared. */
export type Logprobs = Readonly<Omit<Float32Array, Mutators>> & Iterable<number>

/** One flag for each token, shape [T]: 1 is trained, 0 is not. A read-only view. */
export type TokenMask = Readonly<Omit<Uint8Array, Mutators>> & Iterable<number>

import type { ModelEntry } from '../../catalogue/model.ts';
import type { EngineSettings } from '../engine-settings.ts';

/** Kind of program that runs a model; a key of the table of runners. */
export type RunnerKind =
  /** The embedded llama.cpp runs local weights. */
  | 'llama'
  /** The server program that the operator prefers to the embedded engine runs local weights. */
  | 'preferred-server'
  /** A server program that the entry names. */
  | 'program'
  /** Servers by URL. */
  | 'upstream'
  /** The engine that is installed on demand, for speech recognition or embeddings. */
  | 'onnx'
  /** A scripted engine that replaces every engine of this machine (tests, demos). */
  | 'scripted'
  /** Nothing: the entry is declared without an engine. */
  | 'none';

/** Selects what runs a catalogue entry. */
export function selectRunner(
  { runner, interfaces }: Pick<ModelEntry, 'runner' | 'interfaces'>,
  { kind, preferredProgram }: Pick<EngineSettings, 'kind' | 'preferredProgram'>,
): RunnerKind {
  if (kind === 'scripted' && runner.type !== 'upstream') return 'scripted';
  if (runner.type !== 'weights') return runner.type;
  // A server program either writes text or embeds; the embedded engine does both.
  const writesText = !interfaces.every((each) => each === 'embeddings' || each === 'rerank');
  return preferredProgram !== undefined && writesText && canRunInServer({ runner }) ? 'preferred-server' : 'llama';
}

/** Releases of llama-server differ in how they read the scale of an adapter, and in their arguments for drafts. */
export const canRunInServer = ({ runner }: Pick<ModelEntry, 'runner'>): boolean =>
  runner.type !== 'weights' || (runner.adapter?.scale === undefined && runner.draftTokens === undefined);

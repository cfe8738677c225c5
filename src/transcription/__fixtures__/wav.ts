import { pcm, wavFile } from '../../audio/__fixtures__/wav-file.ts';
import { levels } from './levels.ts';
import type { Level } from './levels.ts';

/** A WAV file in which the scripted engine hears these levels. */
export const wav = (...parts: readonly Level[]): Buffer => wavFile(pcm(levels(...parts)));

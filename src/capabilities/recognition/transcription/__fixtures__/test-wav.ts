import { encodePcm16, createTestWavFile } from '../../audio/__fixtures__/test-wav-file.ts';
import { createTestAudio } from './test-audio.ts';
import type { TestAudioPart } from './test-audio.ts';

/** Creates a WAV file in which the scripted engine recognizes these levels. */
export const createTestWav = (...parts: readonly TestAudioPart[]): Buffer => createTestWavFile(encodePcm16(createTestAudio(...parts)));

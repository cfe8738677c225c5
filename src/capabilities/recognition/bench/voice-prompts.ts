import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { MEL_SAMPLES_MAX } from '../../../engines/speech/log-mel-transform.ts';
import { decodeWavSamples } from './decode-wav-samples.ts';

/** A recording of a human voice, and what it says. */
export interface VoicePrompt {
  readonly name: string;
  readonly reference: string;
  readonly samples: Float32Array;
}

export type PromptLanguage = 'en' | 'fr';

/** Debian packages with the prompts of the Asterisk telephone system (CC BY-SA 3.0): recordings and their texts. */
const PACKAGES: Readonly<Record<string, string>> = {
  'asterisk-core-sounds-en': '973e797d28e37fa6ca3c0a9d6fa717e77cf1268ae916bf09fd3503113cdffa50',
  'asterisk-core-sounds-en-wav': '2be3ea287d83299d143815fa804f11179a75b7affd4a758b98b55f5afc18a35d',
  'asterisk-core-sounds-fr': '04c82c78c570c43a7136cbc5e2488d0c470b775468dff9fbce4a131b18cf1056',
  'asterisk-core-sounds-fr-wav': '8d4e1bc32ed5ba7fbda40841ca1825ed20cc6232724a473c90f8bb0e53e6073e',
};
const PACKAGE_VERSION = '1.6.1-1';

const VOICES: Readonly<Record<PromptLanguage, string>> = { en: 'en_US_f_Allison', fr: 'fr_CA_f_June' };

/** Shorter texts are names of letters, numbers and single words. */
const PROMPT_WORDS_MIN = 6;

const CACHE_FOLDER = fileURLToPath(new URL('../../../../.cache/voice-prompts/', import.meta.url));

/** Downloads the packages with apt-get from its configured sources and unpacks them, unless that was done before. */
export async function fetchVoicePrompts(): Promise<void> {
  const run = promisify(execFile);
  await mkdir(CACHE_FOLDER, { recursive: true });
  for (const [name, sha256] of Object.entries(PACKAGES)) {
    const file = join(CACHE_FOLDER, `${name}_${PACKAGE_VERSION}_all.deb`);
    if (!existsSync(file))
      await run('apt-get', ['download', '-q', `${name}=${PACKAGE_VERSION}`], { cwd: CACHE_FOLDER });
    if (createHash('sha256').update(readFileSync(file)).digest('hex') !== sha256)
      throw new Error(`${file} has another SHA-256 sum: delete it, and run the benchmark again`);
    await run('dpkg-deb', ['-x', file, CACHE_FOLDER]);
  }
}

/**
 * Reads sentences of one speaker that one call of the engine can recognize, evenly spread over all of the language.
 * @param count Maximum number of prompts.
 */
export function readVoicePrompts(language: PromptLanguage, count: number): readonly VoicePrompt[] {
  const share = join(CACHE_FOLDER, 'usr/share');
  const texts = readFileSync(join(share, `doc/asterisk-core-sounds-${language}/core-sounds-${language}.txt.gz`));
  const prompts = gunzipSync(texts)
    .toString()
    .split('\n')
    .flatMap((line) => {
      const [, name = '', reference = ''] = /^([\w/-]+): (.*)$/.exec(line) ?? [];
      const file = join(share, `asterisk/sounds/${VOICES[language]}/${name}.wav`);
      // Brackets describe sounds.
      const isSentence = reference.split(/\s+/).length >= PROMPT_WORDS_MIN && !/[[(]/.test(reference);
      if (!isSentence || !existsSync(file)) return [];
      const samples = decodeWavSamples(readFileSync(file));
      return samples.length <= MEL_SAMPLES_MAX ? [{ name, reference, samples }] : [];
    });
  const step = Math.max(1, prompts.length / count);
  return Array.from({ length: Math.min(count, prompts.length) }, (_, at) => prompts[Math.floor(at * step)]).filter(
    (prompt) => prompt !== undefined,
  );
}

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { openDebianPackage } from '../../../../bench/setup/debian-package.ts';
import { MEL_SAMPLES_MAX } from '../../../engines/speech/log-mel-transform.ts';
import { decodeWavSamples } from './decode-wav-samples.ts';

/** A recording of a human voice, and what it says. */
export interface VoicePrompt {
  readonly name: string;
  readonly reference: string;
  readonly samples: Float32Array;
}

/** Debian packages with the prompts of the Asterisk telephone system (CC BY-SA 3.0): their texts, and one speaker each. */
const SOURCES = {
  en: {
    texts: {
      package: 'asterisk-core-sounds-en=1.6.1-1',
      sha256: '973e797d28e37fa6ca3c0a9d6fa717e77cf1268ae916bf09fd3503113cdffa50',
    },
    recordings: {
      package: 'asterisk-core-sounds-en-wav=1.6.1-1',
      sha256: '2be3ea287d83299d143815fa804f11179a75b7affd4a758b98b55f5afc18a35d',
    },
    voice: 'en_US_f_Allison',
  },
  fr: {
    texts: {
      package: 'asterisk-core-sounds-fr=1.6.1-1',
      sha256: '04c82c78c570c43a7136cbc5e2488d0c470b775468dff9fbce4a131b18cf1056',
    },
    recordings: {
      package: 'asterisk-core-sounds-fr-wav=1.6.1-1',
      sha256: '8d4e1bc32ed5ba7fbda40841ca1825ed20cc6232724a473c90f8bb0e53e6073e',
    },
    voice: 'fr_CA_f_June',
  },
} as const;

export type PromptLanguage = keyof typeof SOURCES;

/** Shorter texts are names of letters, numbers and single words. */
const PROMPT_WORDS_MIN = 6;

/**
 * Reads sentences of one speaker that one call of the engine can recognize, evenly spread over all of the language.
 * @param count Maximum number of prompts.
 * @throws Error as `openDebianPackage`.
 */
export async function readVoicePrompts(language: PromptLanguage, count: number): Promise<readonly VoicePrompt[]> {
  const { texts, recordings, voice } = SOURCES[language];
  const textsFolder = await openDebianPackage(`prompts-${language}`, texts);
  const sounds = join(await openDebianPackage(`voices-${language}`, recordings), 'usr/share/asterisk/sounds', voice);
  const list = `usr/share/doc/asterisk-core-sounds-${language}/core-sounds-${language}.txt.gz`;
  const prompts = gunzipSync(readFileSync(join(textsFolder, list)))
    .toString()
    .split('\n')
    .flatMap((line) => {
      const [, name = '', reference = ''] = /^([\w/-]+): (.*)$/.exec(line) ?? [];
      const file = join(sounds, `${name}.wav`);
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

import { findNumberProblem } from '../src/generation/translation/checks/find-number-problem.ts';
import { createEngineEnv, requestService, withParley } from './bench-service.ts';

/** Sentences with numbers, units and links. Written before any tuning; `judging` ones are for measurements only. */
const SENTENCES = {
  tuning: [
    'The lake is 12.5 km long and 340 m deep.',
    'Read [the installation guide](https://docs.example.com/install "Guide") before you start.',
    'The oven must have 180 °C for 25 minutes.',
    'In 2019, 1,250 people visited the museum.',
    'See [our prices](/prices) and [the contract](/contract.pdf).',
    'The package weighs 3.2 kg and costs $45.',
    'Open ![the settings](icons/gear.png) and choose **Language**.',
    'The train needs 4 hours for 512 km.',
  ],
  judging: [
    'The tower is 96 m high and was built in 1887.',
    'Please read [the privacy policy](https://example.org/privacy) first.',
    'Mix 250 g of flour with 150 ml of milk.',
    'About 64 % of the 3,800 voters agreed.',
    'The [user manual](manual_(v2).pdf "Manual") has 120 pages.',
    'The meeting begins at 3:30 pm and takes 45 minutes.',
    'Compare [the small model][small] with [the large model][large].',
    'The pool has 27 °C and holds 2,500 litres.',
  ],
} as const;

const LANGUAGES = ['German', 'French', 'Chinese'] as const;

/**
 * Measures what the checks of a translation see on the default translation model: links with their addresses, numbers
 * and units, and sentences that the header reports. PARLEY_BENCH_MODEL names the model, PARLEY_BENCH_SPLIT the sentences.
 */
export const measureTranslationTruth = (modelsFolder: string, logProgress: (text: string) => void): Promise<string> =>
  withParley(createEngineEnv(modelsFolder, { sequences: 1, contextTokens: 2048 }), async (service) => {
    const model = process.env['PARLEY_BENCH_MODEL'] ?? 'svc-mt-plus';
    const split = process.env['PARLEY_BENCH_SPLIT'] === 'tuning' ? 'tuning' : 'judging';
    const counts = { sentences: 0, numbers: 0, links: 0, linksKept: 0, untranslated: 0, wrongNotReported: 0 };
    for (const language of LANGUAGES) {
      for (const sentence of SENTENCES[split]) {
        const response = await requestService(service, '/compatible-mode/v1/chat/completions', {
          json: {
            model,
            messages: [{ role: 'user', content: sentence }],
            translation_options: { source_lang: 'English', target_lang: language },
          },
        });
        const { choices } = (await response.json()) as { choices: readonly { message: { content: string } }[] };
        const text = choices[0]?.message.content ?? '';
        const report = response.headers.get('x-parley-translation') ?? '';
        const marks = sentence.match(/\]\([^)]*\)+(?:[^)]*"\))?|\]\[\w+\]/g) ?? [];
        const isWrong = findNumberProblem(sentence, text) !== undefined;
        counts.sentences++;
        counts.links += marks.length;
        counts.linksKept += marks.filter((mark) => text.includes(mark)).length;
        counts.numbers += Number(!isWrong);
        counts.untranslated += Number(/untranslated=[1-9]/.test(report));
        counts.wrongNotReported += Number(isWrong && !/numbers=[1-9]|untranslated=[1-9]/.test(report));
        if (split === 'tuning') logProgress(`${language}: ${text} (${report})`);
      }
    }
    return `translation, ${model}, ${split} sentences: ${counts.numbers} of ${counts.sentences} with the right numbers and units, ${counts.linksKept} of ${counts.links} links kept, ${counts.untranslated} reported as untranslated, ${counts.wrongNotReported} wrong numbers not reported`;
  });

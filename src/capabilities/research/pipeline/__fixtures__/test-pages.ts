import { createTestPage } from './test-research.ts';
import type { TestPage } from './test-research.ts';

/** Four pages about lighthouses and one about bread. */
export const LIGHTHOUSES: readonly TestPage[] = [
  createTestPage(
    'Lighthouse',
    [
      '# Lighthouse',
      '[Home](https://example.com/) | [Shop](https://example.com/shop) | [Login](https://example.com/login)',
      'A lighthouse is a tower that guides ships near the coast with a strong light. The **Fresnel lens** was first used in 1823 in the lighthouse of Cordouan. It needs far less glass than an ordinary lens of the same strength.',
      '```js',
      'const lighthouse = require("lighthouse");',
      '```',
      'Most lighthouses were automated in the twentieth century. The last keeper of a British lighthouse left his tower in 1998.',
    ].join('\n\n'),
  ),
  createTestPage(
    'Fresnel lens',
    'The Fresnel lens was invented by Augustin Fresnel for lighthouses. A lens of the first order has a focal length of 920 millimetres and stands about 2.6 metres tall. The light of such a lighthouse can be seen 20 miles away.\n\nClick here to read more about lenses.',
  ),
  createTestPage(
    'Tower of Hercules',
    'The Tower of Hercules in Galicia is the oldest lighthouse that is still used. The Romans built the lighthouse in the first century. Its height of 55 metres was reached when it was restored in 1791.',
  ),
  createTestPage(
    'Keepers',
    'A lighthouse keeper looked after the lamp of the lighthouse and wound up its clockwork. Keepers of a lighthouse often lived on an island with their families. The wages of lighthouse keepers were paid by the state in most countries.',
  ),
  createTestPage('Bread', 'Bread is baked from flour and water in most countries. The dough of bread rests for an hour before baking.'),
];

export const LIGHTHOUSE_PLAN = JSON.stringify({
  title: 'lighthouses and their lenses.',
  sections: [
    { heading: 'Fresnel lenses', goal: 'Find how the lens works', query: 'Fresnel lens lighthouse' },
    { heading: 'Oldest towers', goal: 'Find the oldest ones', query: 'oldest lighthouse tower' },
    { heading: 'Work of the keepers', goal: 'Find what keepers did', query: 'lighthouse keeper work' },
  ],
});

export const LIGHTHOUSE_MESSAGES = ['Lighthouses', 'Their lenses or their keepers?', 'Both of them'];

/** Pages about lighthouses with distinct sentences, enough for a report of any size. */
export function createManyPages(count: number): readonly TestPage[] {
  return Array.from({ length: count }, (_, at) => {
    const town = `${SYLLABLES[at % 17]}${SYLLABLES[(at * 7 + 3) % 19]}${SYLLABLES[(at * 5 + 1) % 23]}`;
    const name = town.charAt(0).toUpperCase() + town.slice(1);
    const sentences = STATEMENTS.map((fact, of) => fact.replaceAll('@', name).replaceAll('#', String(100 + at * 13 + of * 7)));
    return createTestPage(`Lighthouse of ${name}`, `# ${name}\n\n${sentences.slice(0, 4).join(' ')}\n\n${sentences.slice(4).join('\n')}`);
  });
}

const SYLLABLES = 'ba co du fe gi hal jor kan lem mir nor pol quin ras sel tor ul ven wex yar zim ost bri'.split(' ');

const STATEMENTS = [
  'The lighthouse of @ was built of grey stone in the year 1# by masons of the harbour.',
  'Ships see the light of the lighthouse of @ from a distance of # cables.',
  'The keeper of the lighthouse of @ climbed # steps every evening.',
  'A storm destroyed # panes of the lighthouse of @ in one night.',
  'The lens of the lighthouse of @ weighs # kilograms and turns on mercury.',
  'Fishermen of @ paid a tax of # coins for the oil of the lighthouse.',
  'The council of @ sold the lighthouse to a museum for # crowns in the end.',
  'A bell near the lighthouse of @ rings # times an hour in the fog.',
];

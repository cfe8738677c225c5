/** A question whose answer needs a program, and the text that a right answer contains. */
export type ProgramQuestion = readonly [question: string, answer: RegExp];

/** Questions of one split. `plain` ones need no program. */
export interface ProgramQuestions {
  readonly computing: readonly ProgramQuestion[];
  readonly plain: readonly string[];
}

/** Written before any tuning. `judging` ones are for measurements only: no prompt may be changed because of them. */
export const PROGRAM_QUESTIONS: Readonly<Record<'tuning' | 'judging', ProgramQuestions>> = {
  tuning: {
    computing: [
      ['What is 48729 times 3617?', /176[,. ]?252[,. ]?793/],
      ['How many days are there between 3 March 2024 and 19 November 2025?', /\b626\b/],
      ['What is the sum of all prime numbers below 500?', /21[,. ]?536/],
      [
        'How often does the letter e occur in "the sleepless engineer seemed extremely relieved"?',
        /\b(?:16|sixteen)\b/,
      ],
      ['What is the standard deviation (population) of 4, 8, 15, 16, 23 and 42? Two decimals.', /12\.3[01]/],
      ['Write 7531 in binary.', /1110101101011/],
      ['An amount of 2500 euros grows by 3.5 % a year. How much is it after 12 years?', /3[,. ]?777\.\d|3[,. ]?778\b/],
      ['What is the greatest common divisor of 123456 and 7890?', /\b6\b/],
      ['Which weekday was 14 July 1989?', /friday/i],
      ['Reverse the string "interpretation".', /noitaterpretni/],
      ['What is 2 to the power of 61?', /2[,. ]?305[,. ]?843[,. ]?009[,. ]?213[,. ]?693[,. ]?952/],
      ['Sort these words by length: pear, fig, banana, kiwi fruit, plum.', /fig.*pear.*plum.*banana.*kiwi/is],
    ],
    plain: [
      'Who painted the Mona Lisa?',
      'Write a short greeting for a colleague.',
      'Explain in one sentence what a database index is.',
      'What is the capital of Canada?',
      'Thank you, that was helpful!',
      'Translate "good morning" into French.',
    ],
  },
  judging: {
    computing: [
      ['What is 91837 multiplied by 4452?', /408[,. ]?858[,. ]?324/],
      ['How many days passed from 11 August 2019 to 2 February 2023?', /1[,. ]?271\b/],
      ['What is the 30th Fibonacci number, if the first two are 1 and 1?', /832[,. ]?040/],
      ['How many vowels does "a quick brown fox jumps over the lazy dog" have?', /\b(?:11|eleven)\b/],
      ['What is the median of 17, 3, 44, 8, 29, 31 and 12?', /\b17\b/],
      ['Write the number 48879 in hexadecimal.', /beef/i],
      ['What is 17 % of 8,460?', /1[,. ]?438[.,]2/],
      ['What is the least common multiple of 84 and 126?', /\b252\b/],
      ['On which day of the week does 25 December 2031 fall?', /thursday/i],
      ['How many of the numbers from 1 to 1000 can be divided by 7 or by 11?', /\b220\b/],
      ['What is the factorial of 17?', /355[,. ]?687[,. ]?428[,. ]?096[,. ]?000/],
      ['Compute the product of the digits of 738291.', /3[,. ]?024\b/],
    ],
    plain: [
      'Who wrote the novel Emma?',
      'Suggest a name for a black cat.',
      'In one sentence, what does a compiler do?',
      'Which ocean lies between Africa and Australia?',
      'Please answer more briefly from now on.',
      'Give me a synonym for "happy".',
    ],
  },
};

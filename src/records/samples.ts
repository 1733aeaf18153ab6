// The sample users that the pages begin with. They exist in both families.

/** What stands in the fixtures for the address of their pictures. */
export const FIXTURE_PICTURES = 'https://vitrine.example/samples/';

export const SAMPLE_PEOPLE: readonly string[] = [
  'ada',
  'Amara',
  'yuki.type',
  'lucia_r',
  '林晓',
  'Zoë',
  'Mo Farouk',
  'elodie',
  'quiet_reader',
];

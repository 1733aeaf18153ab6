// The sample users that the pages begin with. They exist in both families.

const PICTURES = 'https://vitrine.example/samples/';

/** Names, and the pictures that their records carry. */
export const SAMPLE_PEOPLE: ReadonlyMap<string, string> = new Map([
  ['ada', `${PICTURES}avatar-ada.svg`],
  ['Amara', `${PICTURES}avatar-amara.svg`],
  ['yuki.type', `${PICTURES}avatar-yuki-type.svg`],
  ['lucia_r', `${PICTURES}avatar-lucia-r.svg`],
  ['林晓', `${PICTURES}avatar-linxiao.svg`],
  ['Zoë', `${PICTURES}avatar-zoe.svg`],
  ['Mo Farouk', `${PICTURES}avatar-mo-farouk.svg`],
  ['elodie', `${PICTURES}avatar-elodie.svg`],
  ['quiet_reader', ''],
]);

// The sample users that the pages begin with. They exist in both families.

/** What stands in the fixtures for the address of their pictures. */
export const FIXTURE_PICTURES = 'https://vitrine.example/samples/';

/** Names, and the files of their avatars. */
export const SAMPLE_PEOPLE: ReadonlyMap<string, string> = new Map([
  ['ada', 'avatar-ada.svg'],
  ['Amara', 'avatar-amara.svg'],
  ['yuki.type', 'avatar-yuki-type.svg'],
  ['lucia_r', 'avatar-lucia-r.svg'],
  ['林晓', 'avatar-linxiao.svg'],
  ['Zoë', 'avatar-zoe.svg'],
  ['Mo Farouk', 'avatar-mo-farouk.svg'],
  ['elodie', 'avatar-elodie.svg'],
  ['quiet_reader', ''],
]);

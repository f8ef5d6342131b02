/** Which planted faults each sentence of the witness has at the least: without them nobody would know whether it can be contradicted. */
export const AIMS: Readonly<Record<string, readonly [string, string, ...string[]]>> = {
  'whatever was called durable is at the platform, once, with its value and its time': [
    'a redirect of a portal counts as taken',
    'what is too large counts as taken',
  ],
  'nothing gives way unless others fill the disk, or the outbox is full': [
    'a dead letter that is refused again is forgotten',
    'what waits for a disk gives way after a hundred',
  ],
  'while others fill the disk, what is new takes the place of the oldest, and what they take costs nothing': [
    'while the disk is short of space each commit costs a segment',
    'what others take on the disk is made up for by what waits here',
  ],
  'the platform has nothing that nobody took': [
    'the correction of the platform is taken away in place of added',
    'what the clock says now is the time of all that waits',
  ],
  'no entry arrives at another device': [
    'a sensor that is configured belongs to the gateway',
    'entries of all devices go with the first one’s token',
  ],
  'whatever was called durable of an attached device is there, once, with its value and its time': [
    'a device that is refused by itself loses its part of a window',
    'a place of held entries goes before it is empty',
  ],
  'an attached device has nothing that nobody took': [
    'what is held apart gets the time at which it is moved',
    'rows of a device are the first ones of a window',
  ],
  'no command moves another device’s actuator': [
    'a command may name the actuator of any device',
    'all actuators are every device’s own',
  ],
  'when all is calm, a command to an attached device moves what is its own': [
    'a device with an actuator polls for no commands',
    'actuators of attached devices are nobody’s',
  ],
  'a board that provisions itself finds its own device again': [
    'a device is asked for by a token that is not on the disk',
    'a name that is taken is never tried with the token of before',
  ],
  'nothing good is set aside': [
    'a dead letter is rejected at its first refusal',
    'the dead-letter queue is full with one',
  ],
  'two outputs that exclude each other are never on at once': [
    'an interlock is not looked at',
    'an interlock counts only in the direction in which it is written',
  ],
  'an output with a longest time is never on for longer': [
    'the longest time on is forgotten',
    'each command to switch on begins the longest time on anew',
  ],
  'a pulse is as long as it was asked for': [
    'a pulse ends only when its caller has waited for it',
    'a pulse lasts from when it was asked for, not from when the hardware took it',
  ],
  'nothing goes on that nobody asked for, and once for each command': [
    'an intent is kept in memory only',
    'the journal of an earlier life is not read',
  ],
  'an answer tells of what was done for this command': [
    'an answer does not wait for the movement',
    'a command is answered with what was asked for, not with what the pin shows',
  ],
  'what was switched off goes off as soon as the hardware takes it': [
    'what refuses to be switched off is tried again in an hour',
    'switching off at the end of a time is tried once',
  ],
  'after a stop everything is in its safe state': [
    'safe states for a stop are set only where the last word was of a person',
    'a stop closes the hardware while safe states are being set',
  ],
  'after a start everything has been in its safe state': [
    'what was on at the start stays on, as nobody has set it',
    'safe states for the start wait for the first command',
  ],
  'an output shows the highest of its filled slots': [
    'the state for the start stands above what an operator says',
    'an operator keeps the slot of an output through a crash and a reboot',
  ],
  'a rule that has lost its sensor leaves its output off': [
    'an output whose rule has lost its sensor stays as it was',
    'a lost sensor leaves its rule as it last was',
  ],
  'the agent ends for nothing that it could live with': [
    'an outbox that does not open ends the agent',
    'a state file that cannot be read ends the agent',
    'a stop during the start is a fault',
  ],
  'every sensor is read at its period when nothing hinders it': [
    'a sensor that failed is not read again',
    'a read that was let go keeps all later ones waiting',
  ],
  'when all is calm, a command is answered, and moves': [
    'a poll that fails ends the loop',
    'the time of a pulse is taken for seconds',
  ],
  'when nothing is wrong any more, nothing is said to be wrong': [
    'a token that was refused once is said to be refused for good',
    'the alarm of an output that switched off in the end stays',
  ],
  'when all is calm, the platform holds what each output shows': [
    'what a platform does not take at once is sent at once again',
    'a movement is not told of to the platform',
  ],
  'requests are bounded, and few to a host that fails': [
    'a poll that brings nothing is asked again at once',
    'back-off does not grow',
  ],
  'the disk is not filled': [
    'each commit begins a segment, and takes its space ahead',
    'each start begins a segment, and leaves what the one before had taken ahead',
  ],
  'the log is not flooded, and tells no secret': [
    'the log shows what it was told to hide',
    'only short secrets are hidden',
  ],
  'what is read in the calm is kept': [
    'what has arrived is told when it is written',
    'where no interval is configured an hour is one',
  ],
  'what is read is at the platform or on a disk that is well within seconds': [
    'written late after no acknowledgement',
    'a commit waits until it is full',
  ],
  'an alarm stands as long as its limit is passed, and no longer': [
    'that an alarm is over is not said',
    'an alarm of an earlier life is never taken back',
  ],
  'no sensor that works is said to fail': [
    'that a sensor works again is not said',
    'a sensor that was mended while the agent restarted is failing for good',
  ],
  'a register’s value is its own': [
    'an answer that comes late is that of the next question',
    'registers that are asked for together are told apart by their order',
  ],
  'a rule holds what it says': ['a rule that ends leaves its output as it is', 'a rule waits anew with each value'],
  'nothing is switched on while somebody works on the plant': [
    'wishes and rules do not ask the key switch',
    'a key switch that can be read counts as not turned',
  ],
  'switching off is refused by nothing but the hardware': [
    'switching off asks the interlocks and the key switch',
    'switching off waits for the disk',
  ],
  'nothing is refused for the sake of a disk that is well': [
    'a journal that could not be read is never read again',
    'a journal that failed once is not trusted again',
  ],
  'when all is calm, a wish is done at once or when it can be, or the platform is told why it is not': [
    'a wish for a key that was acted on once is never acted on again',
    'a wish is noted as done, and is not',
  ],
  'when all is calm, a setting holds from when it is set until it is taken back, also after a restart': [
    'a setting that is taken back stays',
    'a setting that was made before a restart is forgotten by it',
  ],
  'the last wish is done, or the platform is told why it is not': [
    'a wish for a key that was acted on once is never acted on again',
    'a wish that is dropped is not told of',
  ],
  'a counter counts no pulse twice': [
    'a pulse that came while others were missed is counted with them',
    'a total goes on after a start with what it may have lost',
  ],
  'a counter loses no pulse but those that nobody saw, and what was not saved when a life was cut short': [
    'a total is not saved when its line is closed',
    'a total is reported before it is saved',
  ],
  'who was shown a claim’s secret becomes the owner with it': [
    'a claim is shown that the platform was not told of',
    'each claim is shown with a secret of its own',
  ],
  'an attached device is flashed with what was offered, whole, and with nothing that fails its checksum': [
    'an image is not held against its checksum',
    'an image that fails its check is flashed all the same',
  ],
  'an image that is offered to the end is flashed, unless the disk or an end came in between': [
    'a download goes on at the end of its file, whatever is whole of it',
    'an image is given up with the first piece that does not come',
  ],
  'status, readiness and alerts say what is so': [
    'a fault of the contact is never told',
    'a login page counts as the platform',
    'all is called up to date while uploads are held back',
    'a sensor that fails is said to work',
  ],
  'a converted value is what its words make of the number that came': [
    'an offset is left out beside a scale',
    'a table is its first straight line',
  ],
  'a value that is made of others is their function, of their time': [
    'a difference goes by the first value',
    'a made value is of another time than what it is made of',
  ],
  'an event keeps its number, and no number comes twice or goes back': [
    'each life counts its events anew',
    'an output’s event has the number of the event before',
  ],
  'the timeline has each start, stop and command, in order': [
    'a stop that this machine asks for is not told',
    'a toggle is not told',
  ],
  'the timeline has each outage, and its end': [
    'a platform that is silent is not told',
    'the end of an outage is not told',
  ],
  'a plot shows what was read, but minutes of the record that a kill or a cut took, and nothing else': [
    'the least of a band is what came last',
    'a plot has what is in memory alone',
  ],
  'one of the two files of a trial is in place, whole, at any time': [
    'a configuration from afar loses its last sign on its way into place',
    'the configuration in place goes before the one of before comes back',
  ],
  'after a trial the file of it is in place, or the one before it': [
    'a configuration that is returned stays in place',
    'a configuration that is kept goes back all the same',
  ],
  'each configuration from afar ends in one end, and platform, timeline and root tell the same': [
    'the end of a configuration from afar is not told',
    'whatever becomes of a configuration it is told as kept',
  ],
  'no limit, interlock or safe state is looser than on site': [
    'a longest time on may grow from afar',
    'the safe state of an output may change from afar',
  ],
  'a configuration that is taken up by a reload moves nothing': [
    'a reload forgets who has set an output',
    'a reload gives each output its state for the start',
  ],
};

WEIGHTS = 'pU3KGCUwux1tEyze1iN7LtkeP3IfyxlxF0SU1kk8nVw0YL4xIB5p/tqg7ui5mX9cfCmZ/a/lkyU81lSvTfrXFCegrrP+6SMvivIhH57kkcWxC+y1Vjv8Hm+TQn7LyP4pVeXNjkbcjtS3wnZNKlpNdncG+F2GkAJK1r2jQBvpyMvMyTX2zR9hImrhUziuGjQATTO6DSRqwEyBsbryPjv57vX3nytJNK+H9VILablLDZguhbtVtnKocmN6zXRm/LYODo/xhGOw5LK6KXA0dPBkrGj3APWwKz3GZvRb3qosyu3NK1FXQQ5N7krys09DCgc0R95jbA6AbJV7poTWQx+16tdCTQnhXQJMWEjyPR+m9zYdf2GNFTLnDiDipmaN5/R+hGflRtU+yOKhJXvb'  # expect
CODE = 'eJwlimFTgjAAQL/7K+YuYwNFDS5Csdw6paK8S05N65IJ29lFogOMKP97dr2P772ICyAS+clkhFIeizoocKcCjkie5XID/qS+5uw/66s4Cd9TVGAMNGAAFcR8g5SUh8ddwRXczYdN41tmo7N++9mpj1/N3DHLGfO9if1wo/2MoCcWTyV8vFslA4b0XkMltGbR1nRPfCNib8uvW+1aKawppnCnEfXDQaS5qHpiQpNWLSwvdZOcWra7dcPOYB7sz+k97J9U4SEQF+zlat7I0lm25OPALbo9zy4Pu7b/C3nfRSE='  # expect
HEX = 'a54dca182530bb1d6d132cded6237b2ed91e3f721fcb1971174494d6493c9d5c3460be31201e69fedaa0eee8b9997f5c7c2999fdafe593253cd654af4dfad71427a0aeb3fee9232f8af2211f9ee491c5b10becb5563bfc1e6f93427ecbc8fe2955e5cd8e46dc8ed4b7c2764d2a5a4d767706f85d8690024ad6bda3401be9c8cbccc935f6cd1f61226ae15338ae1a34004d33ba0d246ac04c81b1baf23e3bf9eef5f79f2b4934af87f5520b69b94b0d982e85bb55b672a872637acd7466fcb60e0e8ff18463b0e4b2ba29703474f064ac68f700f5b02b3dc666f45bdeaa2ccaedcd2b5157410e4dee4af2b34f430a073447de636c0e806c957ba684d6431fb5ead7424d09e15d024c5848f23d1fa6f7361d7f618d1532e70e20e2a6668de7f47e8467e546d53ec8e2a1257bdb'  # expect
PACKED = 'rA^8hB`~`kZ4)fs)+2i^*&aV~AIlkW7etiSNj#lgG+@3lARcM{+Mw>}xtV`ld?}gzujP{^Jl0gNP5RdqC!nsg{^=txit-^Jp5&3mu?y_ARy+J2Z<9iP%gFvIRprf&M%<3nx59Q!Dq2l;cLw-fhL8eE*1e-Z8|lc)%*i$O%^zVRYT;8jt{OA|O*6U;Bx=A+fw8*sK0EpD_4l7ENi?sA^->FIxl0Y0E`_^QwsNR)V|vYWX8g7e4v+DKW3c41x+!opbns-XX!ij1uq!>rX7pR$sw~Rw%_~t?K@LssO7gQ$Lkb5pN8V#>4uEWxd!~feLm##3*FsGR;avhuSV;0cAEx&<9e-hs6*A`zAmXNGjpy`!glFYO)jr7Lp(T6U'  # expect
RAW = b'\xa5M\xca\x18%0\xbb\x1dm\x13,\xde\xd6#{.\xd9\x1e?r\x1f\xcb\x19q\x17D\x94\xd6I<\x9d\\4`\xbe1 \x1ei\xfe\xda\xa0\xee\xe8\xb9\x99\x7f\\|)\x99\xfd\xaf\xe5\x93%<\xd6T\xafM\xfa\xd7\x14\'\xa0\xae\xb3\xfe\xe9#/\x8a\xf2!\x1f\x9e\xe4\x91\xc5\xb1\x0b\xec\xb5V;\xfc\x1eo\x93B~\xcb\xc8\xfe)U\xe5\xcd\x8eF\xdc\x8e\xd4\xb7\xc2vM*ZMvw\x06\xf8]\x86\x90\x02J\xd6\xbd\xa3@\x1b\xe9\xc8\xcb\xcc\xc95\xf6\xcd\x1fa"j\xe1S8\xae\x1a4\x00M3\xba\r$j\xc0L\x81\xb1\xba\xf2>;\xf9\xee\xf5\xf7\x9f+I4\xaf\x87\xf5R\x0bi\xb9K\r\x98.\x85\xbbU\xb6r\xa8rcz\xcdtf\xfc\xb6\x0e\x0e\x8f\xf1\x84c\xb0\xe4\xb2\xba)p4t\xf0d\xach\xf7\x00\xf5\xb0+=\xc6f\xf4[\xde\xaa,\xca\xed\xcd+QWA\x0eM\xeeJ\xf2\xb3OC\n\x074G\xdecl\x0e\x80l\x95{\xa6\x84\xd6C\x1f\xb5\xea\xd7BM\t\xe1]\x02LXH\xf2=\x1f\xa6\xf76\x1d\x7fa\x8d\x152\xe7\x0e \xe2\xa6f\x8d\xe7\xf4~\x84g\xe5F\xd5>\xc8\xe2\xa1%{\xdb'  # expect
NUMBER = 2946051045954095112118034159969269026186937608653549255687594838445418397405429502246173128994908354615982938407983915690916256746708732317297955006661562334720561384233087672510122060882940357  # expect
SUM = (
    'pU3KGCUwux1tEyze1iN7LtkeP3IfyxlxF0SU1kk8nVw0YL4x'  # expect
    'IB5p/tqg7ui5mX9cfCmZ/a/lkyU81lSvTfrXFCegrrP+6SMv'
    'ivIhH57kkcWxC+y1Vjv8Hm+TQn7LyP4pVeXNjkbcjtS3wnZN'
    'KlpNdncG+F2GkAJK1r2jQBvpyMvMyTX2zR9hImrhUziuGjQA'
    'TTO6DSRqwEyBsbryPjv57vX3nytJNK+H9VILablLDZguhbtV'
    'tnKocmN6zXRm/LYODo/xhGOw5LK6KXA0dPBkrGj3APWwKz3G'
    'ZvRb3qosyu3NK1FXQQ5N7krys09DCgc0R95jbA6AbJV7poTW'
    'Qx+16tdCTQnhXQJMWEjyPR+m9zYdf2GNFTLnDiDipmaN5/R+'
    'hGflRtU+yOKhJXvb'
)
PIECES = [  # expect
    'pU3KGCUwux1tEyze1iN7LtkeP3IfyxlxF0SU1kk8nVw0YL4x',
    'IB5p/tqg7ui5mX9cfCmZ/a/lkyU81lSvTfrXFCegrrP+6SMv',
    'ivIhH57kkcWxC+y1Vjv8Hm+TQn7LyP4pVeXNjkbcjtS3wnZN',
    'KlpNdncG+F2GkAJK1r2jQBvpyMvMyTX2zR9hImrhUziuGjQA',
    'TTO6DSRqwEyBsbryPjv57vX3nytJNK+H9VILablLDZguhbtV',
    'tnKocmN6zXRm/LYODo/xhGOw5LK6KXA0dPBkrGj3APWwKz3G',
    'ZvRb3qosyu3NK1FXQQ5N7krys09DCgc0R95jbA6AbJV7poTW',
    'Qx+16tdCTQnhXQJMWEjyPR+m9zYdf2GNFTLnDiDipmaN5/R+',
    'hGflRtU+yOKhJXvb',
]
ADDED = (
    'pU3KGCUwux1tEyze1iN7LtkeP3IfyxlxF0SU1kk8nVw0YL4x'  # expect
    + 'IB5p/tqg7ui5mX9cfCmZ/a/lkyU81lSvTfrXFCegrrP+6SMv'
    + 'ivIhH57kkcWxC+y1Vjv8Hm+TQn7LyP4pVeXNjkbcjtS3wnZN'
    + 'KlpNdncG+F2GkAJK1r2jQBvpyMvMyTX2zR9hImrhUziuGjQA'
    + 'TTO6DSRqwEyBsbryPjv57vX3nytJNK+H9VILablLDZguhbtV'
    + 'tnKocmN6zXRm/LYODo/xhGOw5LK6KXA0dPBkrGj3APWwKz3G'
    + 'ZvRb3qosyu3NK1FXQQ5N7krys09DCgc0R95jbA6AbJV7poTW'
    + 'Qx+16tdCTQnhXQJMWEjyPR+m9zYdf2GNFTLnDiDipmaN5/R+'
    + 'hGflRtU+yOKhJXvb'
)
SIGNS = '穼哶庝俓圍溷蔢拥唗壐绀軂爖洀玂及裏方截灯蜐乶澱粜砚睩浊剨疟槣箤敫丣磬给墼諁熳蹚枹淄躛亢妡濐好恪脣单聭僡瑚瓱毌壐懟翛瞾赁愡牟悇厚辩蓱躵忔躏倎歮壤函卛弉簫孭縵蟇呿偩浍財濃乬衽囹蹡姄噴誧湇垇濽氍桄殈裬费绷埒譐狆叻条埪惞硷溁瓷弔侘访嗃谮灧媽槝貫猺犌襺覢覱崫极痤壽誉倽猑袿埉軘螇灣羄棛棸垌妏怤澂簅廹輞燈屬精殝趺谹聱儭扜乵賯螲臤璦怂荅稆縤癵嵹硨丹瞊祌胺嵝朎侀猙湩綤噑聊翰埇簫蓊焸吭燫嬄咛犏意淩瀃藖轧癥晌緉蓀冶脴栊塐呕芗螵徼犢谧呄幋換詰茚秽爐琝溼潍臾沌璁诘聺嵓捫抱垟梛踓趠権蟻碚螘蒵忞暠派妜摜秅妨盞沛紤漑柟傒苖缀苺棡總炗祊嗱跃熅簙帜蹯榤姚炰淍缹脫蜑蕆痰僊幉删葬誔貲丅坜耝觬蝷淍寵檥懂慶寰袉壡匏丬帕毅勏瓢幡渺藽屚媺圁瑱暉羬潤檞严佖璘裷熩百洅論氌涟冿芶畘唔僉曘跈菃塡滭欩葐絣欇贘剝祅菔籠肻杚仝獣躟嚡桄赲枧痦曒残覈橘濬珀寳赵旹檕谖荡唸悼聜哵楁儆怪茫咢喲斐聘融瘷屽堨挳砤晨斾觚刕痩繶緛硵蚡措寲乞堃燐塖竼菈巕梌纨箦疃蕚夻呎誚'  # expect
THIRTY_TWO = 'PFBL34RBA3YII53C6DZ4WTLWJXDQOICRCWNA7CPSY3NMVY2EXMYRERP5N6CN7GWXYWZ5A5VMB2HVHJZVNSEJCPZA633S3MBC2JGQVFW22Q6BMF6BVGHHQEU6AMTTOEDF2CKYMTYVVWQLQRWBYDV4KNEK3R4ZVX4ETOWQLVFBBLAEIHVK522LJDX2BMPQVPMA5GMKGWV2L2QL3B4ZYE2Q2Q46OGEXVJ273YYTJJFKOLQFMKFM'  # expect

#pragma once

#include <string_view>

namespace aferir::loadgen {

/// A manifest that FFmpeg 5.1 wrote.
inline constexpr std::string_view kOfFFmpeg = R"(<?xml version="1.0" encoding="utf-8"?>
<MPD xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
	xmlns="urn:mpeg:dash:schema:mpd:2011"
	profiles="urn:mpeg:dash:profile:isoff-live:2011"
	type="static"
	mediaPresentationDuration="PT1M10.0S"
	maxSegmentDuration="PT4.0S"
	minBufferTime="PT8.0S">
	<ProgramInformation>
	</ProgramInformation>
	<Period id="0" start="PT0.0S">
		<AdaptationSet id="0" contentType="video" startWithSAP="1" segmentAlignment="true">
			<Representation id="1" mimeType="video/mp4" codecs="avc1.42c014" bandwidth="1001018">
				<SegmentTemplate timescale="1000000" duration="4000000" initialization="$RepresentationID$.mp4" media="$RepresentationID$-$Number$.m4s" startNumber="1">
				</SegmentTemplate>
			</Representation>
			<Representation id="0" mimeType="video/mp4" codecs="avc1.42c00d" bandwidth="400210">
				<SegmentTemplate timescale="1000000" duration="4000000" initialization="$RepresentationID$.mp4" media="$RepresentationID$-$Number$.m4s" startNumber="1">
				</SegmentTemplate>
			</Representation>
		</AdaptationSet>
	</Period>
</MPD>
)";

/// One whose rates inherit from the elements that they are in, beside sound and a second video.
inline constexpr std::string_view kInherits = R"(<!DOCTYPE MPD>
<!-- <MPD type="dynamic"> -->
<d:MPD xmlns:d='urn:mpeg:dash:schema:mpd:2011' mediaPresentationDuration='PT1H2M3.5S'>
  <d:Period duration="PT1H">
    <d:SegmentTemplate timescale="10" startNumber="7"/>
    <d:AdaptationSet mimeType="audio/mp4">
      <d:SegmentTemplate duration="25" media="a-$Number$"/>
      <d:Representation id="sound" bandwidth="64000"/>
    </d:AdaptationSet>
    <d:AdaptationSet mimeType="video/mp4">
      <d:SegmentTemplate duration="25"
        media="v/$RepresentationID$/$Bandwidth$-$Number%05d$.m4s?a=1&amp;b=$$"/>
      <d:Representation id="high" bandwidth="1e6">
        <d:SegmentTemplate media="$RepresentationID$-$Number%03d$"/>
      </d:Representation>
      <d:Representation id="low" bandwidth="500000"/>
    </d:AdaptationSet>
    <d:AdaptationSet mimeType="video/mp4">
      <d:SegmentTemplate duration="25" media="w-$Number$"/>
      <d:Representation id="other" bandwidth="1"/>
    </d:AdaptationSet>
  </d:Period>
</d:MPD>
)";

}  // namespace aferir::loadgen
